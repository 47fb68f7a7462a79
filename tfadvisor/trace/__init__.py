"""Where traces lie and what their bytes say: columns, uninterpreted."""
