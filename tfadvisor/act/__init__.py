"""What starts programs or changes sources: recording, trials, patches."""
