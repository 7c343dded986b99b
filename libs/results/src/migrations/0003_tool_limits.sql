-- Limits of tools over all workers: a row is what is limited (a tool as a whole, or for one target), and its lock is
-- what makes the workers' exchanges follow each other.
--
-- It only adds. Builds that do not know it do not hold the limits.

create table muster.tool_limits (
  tool text not null check (length(tool) >= 1),
  -- Empty: the tool as a whole.
  target text not null,
  -- Where a rate is limited: no call begins before this.
  next_start_at timestamptz,
  paused_until timestamptz,
  primary key (tool, target)
) with (fillfactor = 70);

-- How many calls each worker may have under way. A worker that dies gives its slots back by not renewing them.
create table muster.tool_permits (
  tool text not null,
  target text not null,
  holder text not null check (length(holder) >= 1),
  slots integer not null check (slots >= 0),
  -- Calls under way and waiting: what its share is worked out from.
  wanted integer not null check (wanted >= 0),
  waiting_since timestamptz not null,
  -- Where there are fewer slots than workers that want one, they have them by turns.
  turn_ends_at timestamptz,
  expires_at timestamptz not null,
  primary key (tool, target, holder)
) with (fillfactor = 70);
