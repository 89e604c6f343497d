"""Hosted and self-hosted models behind HTTP: pure protocols, one transport, one embedder for all of them."""
