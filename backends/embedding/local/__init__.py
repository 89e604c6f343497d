"""A GGUF model on this machine, run by llama.cpp in a process of its own."""
