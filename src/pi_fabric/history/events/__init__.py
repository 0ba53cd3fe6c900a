"""Typed events of a session: the one normalizer and its vocabulary."""

from pi_fabric.history.events.branch_facts import (
    BranchDetails,
    BranchRequest,
    BranchSource,
    CustomMessageFact,
    Fact,
    OperationFact,
    PhaseFact,
    UserFact,
)
from pi_fabric.history.events.branch_fit import fit_details
from pi_fabric.history.events.branch_reader import read_branch_details
from pi_fabric.history.events.branch_writer import FactSample, facts_of
from pi_fabric.history.events.normalize import Normalizer, normalize

__all__ = [
    "BranchDetails",
    "BranchRequest",
    "BranchSource",
    "CustomMessageFact",
    "Fact",
    "FactSample",
    "Normalizer",
    "OperationFact",
    "PhaseFact",
    "UserFact",
    "facts_of",
    "fit_details",
    "normalize",
    "read_branch_details",
]
