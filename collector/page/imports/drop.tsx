// Files of other tools, and recordings, that are dropped on the fleet or chosen by its button
// become recordings here.
import { useEffect, useRef, useState } from 'preact/hooks';
import { changed, type Address } from '../base/address';
import { count } from '../base/format';
import { Dialog } from '../orders/dialog';
import { Refused, useRights, type Rights } from '../orders/rights';
import { dismiss, importFiles, useImports, type Import } from './imports';
import './imports.css';

const KINDS =
	'Recordings, and profiles of heaptrack, pprof, jemalloc, gperftools, or collapsed ' +
	'stacks; also packed by gzip or zstd.';

/** Why nothing can be imported. */
function why(rights: Rights | undefined): string | undefined {
	if (rights && !rights.data)
		return (
			'This collector serves files, and there was no data folder when it was started: ' +
			'make one, then start it with --data DIR.'
		);
	if (rights && !rights.orders)
		return 'Importing files needs the token: “Import…” says how to give it.';
	return undefined;
}

function State(props: { job: Import; address: Address }) {
	const { job } = props;
	switch (job.state) {
		case 'waiting':
			return <span class="dim">waits for its turn</span>;
		case 'sending':
			return (
				<>
					<progress value={job.part} max={1} aria-label={`${job.name} is being sent`} />
					{' '}
					{Math.floor(job.part * 100)} %
				</>
			);
		case 'reading':
			return (
				<>
					<progress aria-label={`${job.name} is being read`} /> sent, and is being read…
				</>
			);
		case 'failed':
			return <span class="more">{job.error?.replace(`${job.name}: `, '')}</span>;
		default:
			return (
				<>
					<a
						href={changed(props.address, {
							stream: job.result!.id.slice(0, 12),
							view: 'overview',
							fresh: true,
						})}
					>
						open
					</a>{' '}
					<span class="dim">
						{job.result!.format}, {count(job.result!.events)} events
						{job.result!.note ? `; ${job.result!.note}` : ''}
					</span>
				</>
			);
	}
}

/** What was dropped, and what became of it. */
export function Imports(props: { address: Address }) {
	const jobs = useImports();
	if (jobs.length === 0) return null;
	return (
		<ul class="imports" aria-label="Imported files" aria-live="polite">
			{jobs.map((job) => (
				<li key={job.number} class={job.state}>
					<div>
						<strong>{job.name}</strong> <State job={job} address={props.address} />
					</div>
					<button
						type="button"
						class="plain"
						aria-label={
							job.state === 'sending' || job.state === 'reading'
								? `Take ${job.name} back`
								: `Dismiss ${job.name}`
						}
						onClick={() => dismiss(job.number)}
					>
						×
					</button>
				</li>
			))}
		</ul>
	);
}

/** The button, and the window as the place where files are dropped. */
export function Import() {
	const { rights } = useRights();
	const [over, setOver] = useState(false);
	const [open, setOpen] = useState(false);
	const input = useRef<HTMLInputElement>(null);
	const refused = why(rights);
	const now = useRef({ rights, refused });
	now.current = { rights, refused };

	const take = (files: Iterable<File>) =>
		importFiles(files, now.current.rights?.import_bytes ?? Infinity, now.current.refused);
	useEffect(() => {
		const holdsFiles = (event: DragEvent) =>
			event.dataTransfer?.types.includes('Files') ?? false;
		const enter = (event: DragEvent) => {
			if (!holdsFiles(event)) return;
			event.preventDefault();
			setOver(true);
		};
		const leave = (event: DragEvent) => {
			if (!event.relatedTarget) setOver(false);
		};
		const drop = (event: DragEvent) => {
			if (!holdsFiles(event)) return;
			event.preventDefault();
			setOver(false);
			take(event.dataTransfer!.files);
		};
		addEventListener('dragover', enter);
		addEventListener('dragleave', leave);
		addEventListener('drop', drop);
		return () => {
			removeEventListener('dragover', enter);
			removeEventListener('dragleave', leave);
			removeEventListener('drop', drop);
		};
	}, []);
	return (
		<>
			<button
				type="button"
				class="button"
				title={refused ?? `${KINDS} They can be dropped here, too.`}
				onClick={() => (refused ? setOpen(true) : input.current?.click())}
			>
				Import…
			</button>
			<input
				ref={input}
				type="file"
				multiple
				hidden
				aria-label="Files to import"
				onChange={(event) => {
					take(Array.from(event.currentTarget.files ?? []));
					event.currentTarget.value = '';
				}}
			/>
			{over && (
				<div class="over" role="status">
					<p>
						<strong>
							{refused
								? 'Files can’t be imported here.'
								: 'Drop files to import them.'}
						</strong>
						<br />
						{refused ?? KINDS}
					</p>
				</div>
			)}
			{open && refused && (
				<Dialog title="Import files" onClose={() => setOpen(false)}>
					{rights?.data ? <Refused /> : <p role="status">{refused}</p>}
					<p class="dim">{KINDS}</p>
				</Dialog>
			)}
		</>
	);
}
