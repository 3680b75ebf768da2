"""`avow agents` and `avow people`: who may ask, worked on in the store itself.

The commands are those of the server, so that each is journalled; a server may run meanwhile. A key
is printed once, when it is made, and is kept nowhere but as its digest.

Clauses: ICNLI-14.1.02.
"""

from typing import Annotated, Any

import typer
from rich.text import Text

from avow.channels.cli import console, options
from avow.channels.cli.options import DataFolder, JsonFlag, StoreUrl
from avow.core.agent import KEY_BYTES, Agent
from avow.core.principal import PEOPLE_ROLES, Person
from avow.core.untrusted import show
from avow.core.words import TRUST
from avow.engine import register
from avow.engine.desk import utc

agents = typer.Typer(
    help="Register agents and revoke them; each has a key of its own.", no_args_is_help=True
)
people = typer.Typer(
    help="Register people and revoke them; roles say what each may do.", no_args_is_help=True
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="letters, digits and . _ : @ / -")]


@agents.command("add")
def add_agent(
    call: typer.Context,
    name: Name,
    trust: Annotated[
        str, typer.Option(metavar="LEVEL", help=f"how far you trust it: {', '.join(TRUST)}")
    ] = "low",
    did: Annotated[
        str | None, typer.Option(metavar="DID", help="the did:key it signs its records with")
    ] = None,
    data: DataFolder = None,
    store: StoreUrl = None,
    as_json: JsonFlag = False,
) -> None:
    """Register an agent and print its key, which is never shown again.

    Example: `avow agents add deploy-agent --trust high`
    """
    agent_id, level, identity = register.read_agent(name, trust, did)
    with options.office(call, data, store) as office:
        key, digest = register.fresh_key(office.draw(KEY_BYTES))
        made = office.call(
            register.AddAgent(
                by=office.who().id, agent_id=agent_id, trust=level, key_digest=digest, did=identity
            )
        )
    _print_added(_agent(made), key, f"agent `{name}` with trust {trust}", as_json=as_json)


@agents.command("list")
def list_agents(
    call: typer.Context, data: DataFolder = None, store: StoreUrl = None, as_json: JsonFlag = False
) -> None:
    """List the agents, those that were revoked included.

    Example: `avow agents list --json`
    """
    found = options.archive(call, data, store).read(lambda view: view.agents.listed())
    if as_json:
        console.print_json([_agent(agent) for agent in found])
    elif not found:
        _print_empty("No agent is registered yet.", "avow agents add NAME")
    else:
        listed = console.table("agent", "trust", "since", "state", "identity")
        for agent in found:
            listed.add_row(
                show(agent.id),
                agent.trust.word,
                utc(agent.added_ms),
                _state(agent),
                show(agent.did or "-"),
            )
        console.stdout().print(listed)


@agents.command("revoke")
def revoke_agent(
    call: typer.Context,
    name: Name,
    data: DataFolder = None,
    store: StoreUrl = None,
    as_json: JsonFlag = False,
) -> None:
    """Revoke an agent: its key stops working at once, and for good.

    Example: `avow agents revoke deploy-agent`
    """
    with options.office(call, data, store) as office:
        office.call(register.RevokeAgent(by=office.who().id, agent_id=name))
    _print_revoked("agent", name, as_json=as_json)


@people.command("add")
def add_person(
    call: typer.Context,
    name: Name,
    role: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE", help=f"one or several of {', '.join(PEOPLE_ROLES)}"),
    ] = None,
    data: DataFolder = None,
    store: StoreUrl = None,
    as_json: JsonFlag = False,
) -> None:
    """Register a person and print their key, which is never shown again.

    Example: `avow people add maria --role approver --role auditor`
    """
    person_id, roles = register.read_person(name, role or [])
    with options.office(call, data, store) as office:
        key, digest = register.fresh_key(office.draw(KEY_BYTES))
        made = office.call(
            register.AddPerson(
                by=office.who().id, person_id=person_id, roles=roles, key_digest=digest
            )
        )
    told = f"`{name}` as {', '.join(sorted(roles))}"
    _print_added(_person(made), key, told, as_json=as_json)


@people.command("list")
def list_people(
    call: typer.Context, data: DataFolder = None, store: StoreUrl = None, as_json: JsonFlag = False
) -> None:
    """List the people, those who were revoked included.

    Example: `avow people list`
    """
    found = options.archive(call, data, store).read(lambda view: view.people.listed())
    if as_json:
        console.print_json([_person(person) for person in found])
    elif not found:
        _print_empty("Nobody is registered yet.", "avow people add NAME --role admin")
    else:
        listed = console.table("person", "since", "state", "roles")
        for person in found:
            roles = ", ".join(sorted(person.roles))
            listed.add_row(show(person.id), utc(person.added_ms), _state(person), roles)
        console.stdout().print(listed)


@people.command("revoke")
def revoke_person(
    call: typer.Context,
    name: Name,
    data: DataFolder = None,
    store: StoreUrl = None,
    as_json: JsonFlag = False,
) -> None:
    """Revoke a person; the last admin stays.

    Example: `avow people revoke maria`
    """
    with options.office(call, data, store) as office:
        office.call(register.RevokePerson(by=office.who().id, person_id=name))
    _print_revoked("person", name, as_json=as_json)


def _agent(agent: Agent) -> dict[str, Any]:
    return {
        "id": agent.id,
        "trust": agent.trust.word,
        "did": agent.did,
        "added": utc(agent.added_ms),
        "revoked": None if agent.revoked_ms is None else utc(agent.revoked_ms),
    }


def _person(person: Person) -> dict[str, Any]:
    return {
        "id": person.id,
        "roles": sorted(role.value for role in person.roles),
        "added": utc(person.added_ms),
        "revoked": None if person.revoked_ms is None else utc(person.revoked_ms),
    }


def _state(found: Agent | Person) -> str:
    return "active" if found.revoked_ms is None else f"revoked {utc(found.revoked_ms)}"


def _print_added(value: dict[str, Any], key: str, told: str, *, as_json: bool) -> None:
    if as_json:
        console.print_json({**value, "key": key})
        return
    out = console.stdout()
    out.print(f"Registered {told}.")
    out.print(Text("The key, shown this once and kept nowhere:", style="bold"))
    out.print(f"  {key}", soft_wrap=True)


def _print_revoked(kind: str, name: str, *, as_json: bool) -> None:
    if as_json:
        console.print_json({"id": name, "state": "revoked"})
    else:
        console.stdout().print(f"Revoked the {kind} `{show(name)}`; the key does nothing any more.")


def _print_empty(sentence: str, command: str) -> None:
    console.stdout().print(f"{sentence} Add the first: `{command}`")
