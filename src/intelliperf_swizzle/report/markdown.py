# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT
"""A run as Markdown, short enough for a pull request."""

from __future__ import annotations

from intelliperf_swizzle.records import Run
from intelliperf_swizzle.report import words
from intelliperf_swizzle.report.establish import establish, sentences
from intelliperf_swizzle.report.why import cures, lines, sizes, takes

_TEMPLATE = """\
# {{ run.kernel }}: {{ verdict }}

{{ message }}
{% for line in why %}
{{ line }}
{% endfor %}
| | before | after |
|---|---|---|
{% for row in rows -%}
| {{ row.name }} | {{ row.texts()[0] }} | {{ row.texts()[1] if run.best else "" }} |
{% endfor %}
Ceiling: {{ ceiling }}.
{% if run.best %}
## The swizzle: {{ run.best.candidate.name }}

```python
{{ run.best.candidate.text.strip() }}
```

{% for line in established -%}
- {{ line }}
{% endfor -%}
{% if run.best.diff %}
## The patch

```diff
{{ run.best.diff.rstrip() }}
```
{% endif %}{% endif %}
## Attempts

{{ run.attempts | length }} attempts: {{ outcomes }}
{% if leaders %}
| # | swizzle | verdict | L2 hit rate |
|---|---|---|---|
{% for attempt in leaders -%}
| {{ attempt.number }} | {{ attempt.candidate.name }} | {{ attempt.verdict.kind }} | {{ "%.1f" | format(100 * attempt.measurement.l2_hit_rate) }} % |
{% endfor %}{% endif %}
{% for note in run.notes -%}
- {{ note }}
{% endfor -%}
"""  # noqa: E501 - a row of a table is one line

SHOWN = 10
"""Attempts in the table."""


def markdown(run: Run) -> str:
    """The run as a Markdown page."""
    import jinja2

    measured = [attempt for attempt in run.attempts if attempt.measurement]
    measured.sort(key=lambda a: (-(a.measurement.l2_hit_rate if a.measurement else 0), a.number))
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
    return environment.from_string(_TEMPLATE).render(
        run=run,
        verdict=words.verdict(run),
        message=words.message(run),
        why=[*lines(run), *takes(run), *sizes(run), *cures(run)],
        rows=words.numbers(run),
        ceiling=f"{100 * run.ceiling.l2_hit_rate:.1f} % ({run.ceiling.derivation})",
        established=sentences(establish(run)) if run.best else [],
        outcomes=words.outcomes(run) if run.attempts else "none.",
        leaders=measured[:SHOWN],
    )
