"""Where everything is kept: connections, migrations, and one repository for each aggregate."""
