"""The parts of an algorithm: links, noises, arm sets, filters, estimators, radii, policies."""
