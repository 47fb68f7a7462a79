"""Columns to devices, steps and where each instant goes."""
