// Snapshots: what programs have in use now becomes a recording under a name.
import { useState } from 'preact/hooks';
import { ask, AskError } from '../base/ask';
import { baseName, count, size } from '../base/format';
import type { Stream, Sum } from '../api/types';
import { useRights } from './rights';

interface Member {
	stream: string;
	host: string;
	executable: string;
	pid: number;
}

export interface FleetSnapshot {
	name: string;
	id: string | null;
	wall_ns: number;
	took_ns: number;
	clock_spread_ns: number;
	in_use: Sum;
	processes: (Member & { in_use: Sum; time_ns: number })[];
	missing: (Member & { why: string })[];
}

export function memberInWords(m: Member): string {
	return `${baseName(m.executable)} ${m.pid || ''} on ${m.host || 'a host that is not known'}`;
}

/** Takes one: of the stream, of those that a selector chooses, or of all that live. */
export function Snapshot(props: {
	stream?: Stream;
	select?: string | undefined;
	may: boolean;
	onTaken?: () => void;
}) {
	const { again } = useRights();
	const [name, setName] = useState('');
	const [busy, setBusy] = useState(false);
	const [taken, setTaken] = useState<FleetSnapshot>();
	const [error, setError] = useState<AskError>();
	const take = () => {
		setBusy(true);
		setError(undefined);
		setTaken(undefined);
		ask<FleetSnapshot>('snapshot', {
			body: {
				...(name ? { name } : {}),
				...(props.stream ? { streams: props.stream.id } : {}),
				...(props.select ? { select: props.select } : {}),
			},
		})
			.then(
				(answer) => {
					setTaken(answer);
					setName('');
					props.onTaken?.();
				},
				(failed: AskError) => {
					setError(failed);
					if (failed.status === 401) again();
				},
			)
			.finally(() => setBusy(false));
	};
	return (
		<form
			onSubmit={(event) => {
				event.preventDefault();
				take();
			}}
		>
			<p class="dim">
				What{' '}
				{props.stream
					? 'it has'
					: `all live programs${props.select ? ` with ${props.select}` : ''} have`}{' '}
				in use now becomes a recording of its own, which is listed under Snapshots.
			</p>
			<div class="row">
				<input
					type="text"
					pattern="[A-Za-z0-9_][A-Za-z0-9._\-]*"
					maxLength={60}
					title="letters, digits, dot, dash and underscore"
					placeholder="A name, or the time"
					aria-label="Name of the snapshot"
					disabled={!props.may || busy}
					value={name}
					onInput={(e) => setName(e.currentTarget.value)}
				/>
				<button type="submit" class="button" disabled={!props.may || busy}>
					Take a snapshot
				</button>
			</div>
			{busy && (
				<p role="status" class="dim">
					Agents are being asked: ten seconds at most…
				</p>
			)}
			{error && (
				<div class="outcome warn" role="alert">
					<p>Not taken: {error.message}</p>
				</div>
			)}
			{taken && (
				<div class="outcome" role="status">
					<p>
						<a href={`#/${(taken.id ?? '').slice(0, 12)}/overview`}>{taken.name}</a>
						{' has '}
						{size(taken.in_use.bytes)} of {count(taken.processes.length)}{' '}
						{taken.processes.length === 1 ? 'process' : 'processes'}.
					</p>
					{taken.missing.map((m) => (
						<p>
							Without {memberInWords(m)}: {m.why}
						</p>
					))}
				</div>
			)}
		</form>
	);
}
