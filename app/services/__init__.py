"""What tools need beside the screen: files, processes, the sandbox, the web behind its walls, the journal, themes,
notifications. In come plain values, out go plain values and files on the disk. They know no protocol, no model and no
desktop.
"""
