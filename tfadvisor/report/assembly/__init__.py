"""How outcomes and summaries become the report and the data of its page."""
