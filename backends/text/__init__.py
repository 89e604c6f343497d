"""Text as people write it: words, lines, scripts, dates and annotations. Knows nothing of files or engines."""
