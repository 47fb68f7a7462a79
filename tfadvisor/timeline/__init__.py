"""Devices, threads, steps, and the class of each instant; hosts side by side."""
