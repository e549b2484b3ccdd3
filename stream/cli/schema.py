"""``tocsin schema``: what a configuration may hold, for editors."""

from __future__ import annotations

import json

import click

from stream.config.schema.document import configuration_schema

__all__ = ["schema"]


@click.command()
def schema() -> None:
    """Print the JSON Schema of configurations, for editors.

    Save it beside the configuration and name it in the first line there:

    \b
      tocsin schema > tocsin.schema.json
      # yaml-language-server: $schema=tocsin.schema.json
    """  # noqa: D301  # click's mark of a paragraph that is not wrapped
    click.echo(json.dumps(configuration_schema(), indent=2, ensure_ascii=False))
