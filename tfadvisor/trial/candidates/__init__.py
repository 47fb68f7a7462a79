"""What is tried: patches, settings, the findings' own fixes, passes of the compiler."""
