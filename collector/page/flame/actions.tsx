// What can be done with a frame: hangs where somebody pressed the right button. Closes by Escape
// and by a click elsewhere.
import { useEffect, useRef } from 'preact/hooks';

export interface Action {
	text: string;
	key?: string;
	run: () => void;
}

export function Actions(props: {
	title: string;
	x: number;
	y: number;
	actions: Action[];
	onClose: () => void;
}) {
	const box = useRef<HTMLDivElement>(null);
	const { onClose } = props;

	useEffect(() => {
		const elsewhere = (event: Event) =>
			!box.current?.contains(event.target as Node) && onClose();
		const key = (event: KeyboardEvent) => {
			const buttons = [...(box.current?.querySelectorAll('button') ?? [])];
			const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
			if (event.key === 'Escape') onClose();
			else if (event.key === 'ArrowDown') buttons[(at + 1) % buttons.length]?.focus();
			else if (event.key === 'ArrowUp') buttons.at(at - 1)?.focus();
			else return;
			event.preventDefault();
			event.stopPropagation();
		};
		addEventListener('pointerdown', elsewhere);
		addEventListener('keydown', key, true);
		box.current?.querySelector('button')?.focus();
		return () => {
			removeEventListener('pointerdown', elsewhere);
			removeEventListener('keydown', key, true);
		};
	}, []);
	return (
		<div
			class="panel actions"
			role="group"
			aria-label={props.title}
			ref={box}
			style={{ left: `${props.x}px`, top: `${props.y}px` }}
		>
			{props.actions.map((action) => (
				<button
					type="button"
					class="choice"
					onClick={() => {
						onClose();
						action.run();
					}}
				>
					{action.text}
					{action.key && <span class="dim"> {action.key}</span>}
				</button>
			))}
		</div>
	);
}
