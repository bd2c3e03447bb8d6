"""An audit's figures as tables for papers, model cards and annexes."""
