"""Encoders: named columns, categories, dates and missing values become features."""

from .columns import Category, Number
from .dates import Date
from .encoder import Encoder
from .feature_map import Features
from .sklearn import wrap

__all__ = ["Category", "Date", "Encoder", "Features", "Number", "wrap"]
