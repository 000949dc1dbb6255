"""Encoders: named columns, categories, dates and missing values become features."""

from .columns import Category, Column, Date, Number
from .encoder import Encoder
from .feature_map import FeatureMap
from .sklearn import from_sklearn

__all__ = ["Category", "Column", "Date", "Encoder", "FeatureMap", "Number", "from_sklearn"]
