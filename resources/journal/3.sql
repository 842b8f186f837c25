-- Who answered in the turn (`resources/providers.toml`). Empty for a turn that an earlier version wrote.
alter table turns add column provider text not null default '';
