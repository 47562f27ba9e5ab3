// The button above the fleet that takes a snapshot of all of it.
import { useState } from 'preact/hooks';
import { useFleet } from '../frame/fleet_state';
import { Dialog } from './dialog';
import { Refused, useRights } from './rights';
import { Snapshot } from './snapshot';

export function TakeSnapshot(props: { select: string | undefined; onTaken: () => void }) {
	const { streams } = useFleet();
	const { rights } = useRights();
	const [open, setOpen] = useState(false);
	const none = !streams?.some((s) => s.state === 'live');
	return (
		<>
			<button
				type="button"
				class="button"
				aria-haspopup="dialog"
				onClick={() => setOpen(true)}
			>
				Snapshot…
			</button>
			{open && (
				<Dialog title="Snapshot of the fleet" onClose={() => setOpen(false)}>
					{none && (
						<p role="status">
							No program is live: there is nothing to be asked. Programs appear here
							when their agents do.
						</p>
					)}
					{!none && rights && !rights.orders && <Refused />}
					{!none && (
						<Snapshot
							may={rights?.orders ?? false}
							select={props.select}
							onTaken={props.onTaken}
						/>
					)}
				</Dialog>
			)}
		</>
	);
}
