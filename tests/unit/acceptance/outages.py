"""Campaigns with an outage log that is written by hand, in hours since the period began."""

import datetime

from reports.acceptance.campaign.folder import Campaign
from reports.acceptance.campaign.layout import CONTRACT
from reports.acceptance.judge import judge
from reports.acceptance.outages.log import Draft, OutageLog, writing

BEGIN = datetime.datetime(2026, 12, 1, tzinfo=datetime.UTC)
PARTIES = ("buyer", "vendor")
MONTH_H = 720

CONTRACT_TEXT = """\
contract:
  title: A month
  system: embedded
  date: 2026-11-21
  parties: {buyer: B, vendor: V}
  observation: {nodes: "n[1-4]", least_nodes: 3, notice_h: 48, exclusions: [power of the site]}
clauses:
  - id: S
    text: the system breaks seldom
    reliability: {of: system, promised_h: 150, least_h: 50, buyer_risk: 0.1, vendor_risk: 0.1}
    mandatory: true
  - id: N
    text: nodes break seldom
    reliability: {of: nodes, promised_h: 600, least_h: 200, buyer_risk: 0.1, vendor_risk: 0.1}
    mandatory: true
  - id: A
    text: the system is there
    availability: {of: system, least: 98, period_h: 720}
    mandatory: true
  - id: B
    text: the nodes are there
    availability: {of: nodes, least: 99, period_h: 720}
    mandatory: true
"""


def at(hours):
    return BEGIN + datetime.timedelta(seconds=round(hours * 3600))


class Month:
    """A log that is being written; every line that both parties agree to unless it says who does."""

    def __init__(self, writer: OutageLog):
        self.writer = writer

    def add(self, what, start, end=None, agreed=PARTIES, recorded=None, nodes=(), **fields):
        """Append an entry, recorded ``recorded`` hours after the beginning (as it ends); returns its id."""
        moment = recorded if recorded is not None else start if end is None else end
        draft = Draft(
            by="kappa", source="hand", what=what, start=at(start), end=None if end is None else at(end),
            nodes=tuple(nodes), **fields,
        )  # fmt: skip
        (number,) = self.writer.append([draft], at(moment).timestamp())
        for party in agreed:
            self.agree(number, party, moment)
        return str(number)

    def agree(self, number, party, moment):
        draft = Draft(by=party, source="hand", what="agreement", about=(str(number),))
        self.writer.append([draft], at(moment).timestamp())

    def system(self, start, end, attribution="vendor", **fields):
        return self.add("system_interrupt", start, end, attribution=attribution, **fields)

    def node(self, names, start, end, attribution="vendor", **fields):
        return self.add("node_interrupt", start, end, nodes=names.split(), attribution=attribution, **fields)


def written(folder, fill, observed_h=MONTH_H, contract=CONTRACT_TEXT):
    """A campaign whose log ``fill`` has written, observed to ``observed_h``; 0: not observed."""
    folder.mkdir(parents=True)
    (folder / CONTRACT).write_text(contract)
    with writing(folder) as writer:
        month = Month(writer)
        month.add("begin", 0, recorded=-100)
        fill(month)
        if observed_h:
            month.add("observed", 0, observed_h)
    return Campaign(folder)


def verdicts(campaign):
    return {verdict.clause.id: verdict for verdict in judge(campaign).clauses}
