// Files on their way to the collector, one after the other. They go on while other views are looked
// at, so this is not a view's own.
import { useEffect, useState } from 'preact/hooks';
import { tokenHeaders } from '../base/ask';
import { size } from '../base/format';

export interface Imported {
	id: string;
	format: string;
	note: string;
	events: number;
}

export interface Import {
	number: number;
	name: string;
	state: 'waiting' | 'sending' | 'reading' | 'done' | 'failed';
	/** Sent so far, of 1. */
	part: number;
	result?: Imported;
	error?: string;
}

interface Job extends Import {
	file: File;
	request?: XMLHttpRequest;
}

let jobs: Job[] = [];
let last = 0;
const watchers = new Set<() => void>();

function change(job: Job, to: Partial<Job>): void {
	Object.assign(job, to);
	for (const watcher of watchers) watcher();
}

function said(request: XMLHttpRequest): { error?: string } & Partial<Imported> {
	try {
		return JSON.parse(request.responseText);
	} catch {
		return {};
	}
}

function start(job: Job): void {
	const request = new XMLHttpRequest(); // fetch does not tell how much was sent
	request.open('POST', `import?${new URLSearchParams({ name: job.name })}`);
	for (const [name, value] of Object.entries(tokenHeaders()))
		request.setRequestHeader(name, value);
	request.setRequestHeader('Content-Type', 'application/octet-stream');
	request.upload.addEventListener('progress', (event) =>
		change(job, { part: event.total ? event.loaded / event.total : 1 }),
	);
	request.upload.addEventListener('load', () => change(job, { state: 'reading', part: 1 }));
	const end = (to: Partial<Job>) => {
		change(job, to);
		next();
	};
	request.addEventListener('load', () => {
		const answer = said(request);
		if (request.status === 200) end({ state: 'done', result: answer as Imported });
		else
			end({
				state: 'failed',
				error: answer.error ?? `The collector answers ${request.status}.`,
			});
	});
	request.addEventListener('error', () =>
		end({
			state: 'failed',
			error:
				"The connection broke off, or the file can't be read here (a folder is no " +
				'file).',
		}),
	);
	request.addEventListener('abort', () => end({ state: 'failed', error: 'Taken back.' }));
	change(job, { state: 'sending', request });
	request.send(job.file);
}

function next(): void {
	if (jobs.some((j) => j.state === 'sending' || j.state === 'reading')) return;
	const job = jobs.find((j) => j.state === 'waiting');
	if (job) start(job);
}

/** `most`: bytes that a file may have; `refused`: why none is taken. */
export function importFiles(files: Iterable<File>, most: number, refused?: string): void {
	for (const file of files) {
		const tooLarge =
			file.size > most
				? `It has ${size(file.size)}, and a file may have ${size(most)} here.`
				: file.size === 0
					? 'It is empty.'
					: undefined;
		const error = refused ?? tooLarge;
		jobs = [
			...jobs,
			{
				number: ++last,
				name: file.name,
				state: error ? 'failed' : 'waiting',
				part: 0,
				error,
				file,
			},
		];
	}
	for (const watcher of watchers) watcher();
	next();
}

/** Takes it out of the list; what is on its way is taken back. */
export function dismiss(number: number): void {
	const job = jobs.find((j) => j.number === number);
	if (job?.state === 'sending' || job?.state === 'reading') {
		job.request?.abort();
		return;
	}
	jobs = jobs.filter((j) => j !== job);
	for (const watcher of watchers) watcher();
}

export function useImports(): readonly Import[] {
	const [, setTimes] = useState(0);
	useEffect(() => {
		const watcher = () => setTimes((n) => n + 1);
		watchers.add(watcher);
		return () => void watchers.delete(watcher);
	}, []);
	return jobs;
}
