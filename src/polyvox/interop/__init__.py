"""Files that come in and go out: advisors and conversations, ours and other programs'.

Every file is treated as hostile: bounded, checked before anything is written, written whole or not
at all, and reported on. Nothing in a file is executed or fetched.
"""
