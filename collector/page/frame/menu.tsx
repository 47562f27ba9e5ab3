// What hangs below a button of the bar: closes by Escape and by a click elsewhere.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export function Menu(props: {
	title: string;
	label: string;
	children: (close: () => void) => ComponentChildren;
}) {
	const [open, setOpen] = useState(false);
	const box = useRef<HTMLDivElement>(null);
	const button = useRef<HTMLButtonElement>(null);

	useEffect(() => {
		if (!open) return undefined;
		const elsewhere = (event: Event) => {
			if (!box.current?.contains(event.target as Node)) setOpen(false);
		};
		const key = (event: KeyboardEvent) => {
			if (event.key !== 'Escape') return;
			setOpen(false);
			button.current?.focus();
		};
		addEventListener('pointerdown', elsewhere);
		addEventListener('keydown', key);
		box.current?.querySelector<HTMLElement>('.panel input, .panel a, .panel button')?.focus();
		return () => {
			removeEventListener('pointerdown', elsewhere);
			removeEventListener('keydown', key);
		};
	}, [open]);
	return (
		<div class="menu" ref={box}>
			<button
				type="button"
				class="button"
				ref={button}
				aria-expanded={open}
				aria-haspopup="true"
				onClick={() => setOpen(!open)}
			>
				{props.title}
			</button>
			{open && (
				<div class="panel" role="group" aria-label={props.label}>
					{props.children(() => setOpen(false))}
				</div>
			)}
		</div>
	);
}
