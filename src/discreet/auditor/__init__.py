"""The auditor: tries to break everything else, and says with what confidence it did."""

from discreet.auditor.black_box import audit

__all__ = ["audit"]
