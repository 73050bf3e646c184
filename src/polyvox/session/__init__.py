"""Sessions and turns: who is asked, in which order, until when."""
