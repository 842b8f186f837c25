"""The provider that needs no model, no key and no network: plain commands in, the inline protocol out."""
