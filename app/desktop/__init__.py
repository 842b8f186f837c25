"""The desktop: capture, input, windows, programs, accessibility. In come requests on one thread (`desktop.py`,
`controller.py`); `choose.py` picks the backend behind the seams of `backends.py`. Out go pictures, controls, and
receipts that claim only what was seen (`verification.py`). It knows no protocol and no model.
"""
