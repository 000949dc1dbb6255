"""Tables, figures, verdicts and a page in one file, of whatever was measured."""
