"""Reads Prometheus text from stdin as Prometheus' Python client does, and writes it as JSON: of each sample its name, labels and value."""

import json
import sys

from prometheus_client.parser import text_string_to_metric_families

families = [
    {
        "name": family.name,
        "type": family.type,
        "help": family.documentation,
        "samples": [{"name": sample.name, "labels": sample.labels, "value": sample.value} for sample in family.samples],
    }
    for family in text_string_to_metric_families(sys.stdin.read())
]
json.dump(families, sys.stdout)
