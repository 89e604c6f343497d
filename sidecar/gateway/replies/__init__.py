"""Replies: what each route answers, field by field. The OpenAPI document is made of them.

A field that is `NotRequired` is left out where there is nothing to say. Clients ignore fields that they do not know.
"""

from sidecar.gateway.replies.agents import AgentList, AgentStatus, Environment, SyncReply
from sidecar.gateway.replies.doctor import DoctorReply
from sidecar.gateway.replies.events import Event
from sidecar.gateway.replies.flush import FlushPlan, FlushReply, FlushResultReply
from sidecar.gateway.replies.memory import GetReply, SearchReply, SessionStartReply, TriggersReply
from sidecar.gateway.replies.scope import Explanation
from sidecar.gateway.replies.service import Alive, DaemonStatus, Info, Readiness, ReloadReply, Stopping
from sidecar.gateway.replies.sessions import ExportReply, PurgeReply

__all__ = [
    "AgentList",
    "AgentStatus",
    "Alive",
    "DaemonStatus",
    "DoctorReply",
    "Environment",
    "Event",
    "Explanation",
    "ExportReply",
    "FlushPlan",
    "FlushReply",
    "FlushResultReply",
    "GetReply",
    "Info",
    "PurgeReply",
    "Readiness",
    "ReloadReply",
    "SearchReply",
    "SessionStartReply",
    "Stopping",
    "SyncReply",
    "TriggersReply",
]
