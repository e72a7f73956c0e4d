"""Files in and out: tables, arrays, embeddings, atomic writing.

Nothing here loads torch: files are read as NumPy arrays and Arrow tables.
"""
