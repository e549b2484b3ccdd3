"""The command ``tocsin``.

Exit codes: 0 done, 1 a test of an alarm fails, 2 bad input (also a ledger that refuses), 3 the
budget does not cover the windows or an alarm has low utility, 4 Kafka or the database is away.
The file of a command is imported when it is called: help needs none of them, and only those that
speak to Kafka import its clients.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import click

__all__ = ["Later", "Suggesting", "main"]

_SECTIONS: Final = {
    "Start": {
        "init": "Write a configuration from a template, with events to try it on.",
        "lock": "Resolve what FILE leaves open, and write it to its lock.",
        "check": "Validate a configuration: every error with its line and what to write instead.",
        "plan": "Plan a configuration: its cost and its utility, before any data is read.",
        "test": "Try alarms on made-up counts or events: do they fire as expected?",
        "simulate": "Replay history with fresh noise: misses, false alarms, denials and losses.",
    },
    "Run": {
        "topics": "Check or create the topics of a configuration, or add partitions to one.",
        "run": "Run an alarm worker on Kafka, or replay files.",
        "load": "Write recorded events to a feed's topic, with watermarks, for workers to read.",
        "mqtt": "Forward sensors' messages from MQTT to a feed, at least once, until stopped.",
        "notify": "Send alarms to Alertmanagers, webhooks and MQTT, at least once, until stopped.",
        "board": "Show analysts what fires, on a web page, until stopped.",
    },
    "Observe": {
        "watch": "Follow the alarms on Kafka, and the windows that were denied, until stopped.",
        "inspect": "Show what alarms count, exactly: every window, and what is dropped.",
        "export": "Write a feed's topic to a Parquet file of events, for replays and simulations.",
    },
    "Operate": {
        "ledger": "Show or maintain the ledger of a configuration.",
        "schema": "Print the JSON Schema of configurations, for editors.",
    },
}
"""The commands as help lists them: the first sentence of each, which is its own."""


class Later(click.Command):
    """A command with its own name in the file ``stream.cli.<name>``.

    Args:
        name: of the command.
        help: the first sentence of its help, which the list of commands shows.
    """

    @property
    def command(self) -> click.Command:
        """The command itself; its file is imported now."""
        found: click.Command = getattr(import_module(f"{__package__}.{self.name}"), str(self.name))
        return found

    def make_context(self, *given: Any, **extra: Any) -> click.Context:
        """Let the command itself read its arguments; it is what is run."""
        return self.command.make_context(*given, **extra)


class Suggesting(click.Group):
    """A group of commands that names the nearest one of a name that is none."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called.

        Raises:
            click.UsageError: there is none of that name.
        """
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            from stream.config.scalars import closest  # noqa: PLC0415  # help is quicker without

            ctx.fail(f"No such command {name!r}: {closest(name, self.commands)}")
        return super().resolve_command(ctx, args)


class _Tocsin(Suggesting):
    """A group of commands that turns deliberate errors into text and exit codes."""

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by what they are for."""
        widest = max(map(len, self.commands))
        limit = formatter.width - 6 - widest
        for title, names in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(f"{n:{widest}}", self.commands[n].get_short_help_str(limit)) for n in names]
                )

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command.

        Raises:
            click.exceptions.Exit: with the error's exit code, or that of the signal that ended it:
                the process has said so, and click would add that it was aborted.
        """
        try:
            from stream.cli.shared import complaining  # noqa: PLC0415  # help is quicker without

            with complaining(ctx):
                return super().invoke(ctx)
        except KeyboardInterrupt:
            if ctx.obj is not None and ctx.obj.so:
                ctx.exit(ctx.obj.code)
            raise


@click.group(
    cls=_Tocsin,
    context_settings={"help_option_names": ["-h", "--help"]},
    commands=[Later(name, help=text) for part in _SECTIONS.values() for name, text in part.items()],
)
@click.version_option(package_name="tocsin", prog_name="tocsin")
def main() -> None:
    """Differentially private alarms over event streams, under a hard budget."""
