"""Three ways to write the same calls: XML inside the text, JSON batches, and the vendor's native tool use; `foreign.py`
reads other agents' formats. In come chunks (`feed`, `flush`); out go text and blocks, the same however the stream was
cut. Readers never raise.
"""
