"""Eyes outside the product: files, network, processes, input, and where planted secrets turn up.

None of them uses a line of the product. Each is proven in `test_observers.py` by an escape planted for it.
"""
