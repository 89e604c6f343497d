"""The one process that does CPU-bound Python: indexing and embedding, away from the loop that answers."""
