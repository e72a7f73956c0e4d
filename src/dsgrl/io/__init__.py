"""Files in and out: tables, arrays, embeddings, atomic writing.

Nothing here loads torch: what is read are NumPy arrays and Arrow tables.
"""
