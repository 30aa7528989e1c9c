# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A run as Markdown, short enough for a pull request."""

from __future__ import annotations

from intelliperf_swizzle.records import Run
from intelliperf_swizzle.report import words
from intelliperf_swizzle.report.why import cures, lines, placement, sizes, takes

_TEMPLATE = """\
# {{ run.kernel }}: {{ verdict }}
{% for line in message %}
{{ line }}
{% endfor %}{% for line in why %}
{{ line }}
{% endfor %}
| | before | after |
|---|---|---|
{% for row in rows -%}
| {{ row.name }} | {{ row.texts()[0] }} | {{ row.texts()[1] if run.best else "" }} |
{% endfor %}
Ceiling: {{ ceiling }}.
{% if by_hand %}
| by hand | time | L2 hit rate | verdict |
|---|---|---|---|
{% for row in by_hand -%}
| {{ row | join(" | ") }} |
{% endfor %}{% endif %}{% if run.best %}
## The swizzle: {{ run.best.candidate.name }}

```python
{{ run.best.candidate.text.strip() }}
```

{% if run.best.diff %}
## The patch

```diff
{{ run.best.diff.rstrip() }}
```
{% endif %}{% endif %}
{{ run.attempts | length }} attempts: {{ outcomes }}
{% for note in run.notes -%}
- {{ note }}
{% endfor -%}
"""


def markdown(run: Run) -> str:
    """The run as a Markdown page."""
    import jinja2

    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
    return environment.from_string(_TEMPLATE).render(
        run=run,
        verdict=words.verdict(run),
        message=[*words.outcome(run), *words.cautions(run.cautions)],
        why=[*lines(run), *placement(run), *takes(run), *sizes(run), *cures(run)],
        rows=words.numbers(run),
        by_hand=words.by_hand(run),
        ceiling=f"{100 * run.ceiling.l2_hit_rate:.1f} % ({run.ceiling.derivation})",
        outcomes=words.outcomes(run) if run.attempts else "none.",
    )
