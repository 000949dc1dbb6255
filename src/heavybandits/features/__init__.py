"""Rows in the user's words made into features: names, categories, dates and gaps into numbers."""

from .columns import Category, Number
from .contract import Features
from .dates import Date
from .encoder import Encoder
from .wrapping import wrap

__all__ = ["Category", "Date", "Encoder", "Features", "Number", "wrap"]
