"""The auditor: tries to break everything else, and says with what confidence it did."""

from discreet.auditor.audit import audit

__all__ = ["audit"]
