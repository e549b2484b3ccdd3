"""``tocsin schema``: what a configuration, or a file of tests, may hold, for editors."""

from __future__ import annotations

import json

import click

from stream.config.schema.document import cases_schema, configuration_schema

__all__ = ["schema"]


@click.command()
@click.option("--tests", is_flag=True, help="That of the files of `tocsin test` instead.")
def schema(*, tests: bool) -> None:
    """Print the JSON Schema of configurations, for editors.

    Save it beside the configuration and name it in the first line there:

    \b
      tocsin schema > tocsin.schema.json
      # yaml-language-server: $schema=tocsin.schema.json
    """  # noqa: D301  # click's mark of a paragraph that is not wrapped
    made = cases_schema() if tests else configuration_schema()
    click.echo(json.dumps(made, indent=2, ensure_ascii=False))
