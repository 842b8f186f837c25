"""The composer: where the person writes."""
