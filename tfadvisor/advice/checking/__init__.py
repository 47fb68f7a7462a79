"""The cases of rules, their admission, their pages."""
