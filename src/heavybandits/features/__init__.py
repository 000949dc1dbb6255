"""Features from named values: numbers, categories, dates and missing values."""

from .columns import Category, Column, Date, Number
from .encoder import Encoder
from .feature_map import FeatureMap
from .sklearn import from_sklearn

__all__ = ["Category", "Column", "Date", "Encoder", "FeatureMap", "Number", "from_sklearn"]
