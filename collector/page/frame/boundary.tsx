// What is shown instead of a part of the page that failed: what happened, and what to do. The other
// parts go on.
import { Component, type ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';

/** For who mends it: nothing but what is on the page already, and no token. */
function detailsOf(what: string, error: Error): string {
	const script = document.querySelector<HTMLScriptElement>('script[src]')?.src ?? '';
	return [
		`heapcast's page failed: ${what}`,
		`${error.name}: ${error.message}`,
		error.stack ?? '',
		`at ${location.hash}`,
		`page ${script.split('/').at(-1)}`,
		navigator.userAgent,
	].join('\n');
}

function Failure(props: { what: string; area: string; error: Error; onAgain: () => void }) {
	const details = detailsOf(props.what, props.error);
	const text = useRef<HTMLTextAreaElement>(null);
	const copy = () => {
		// Where the clipboard may not be written (no HTTPS), it is selected.
		text.current?.select();
		void navigator.clipboard?.writeText(details).catch(() => {});
	};
	return (
		<div class={`failure ${props.area}`} role="alert">
			<strong>{props.what} failed. This is a fault of the page.</strong>
			<p>{props.error.message || String(props.error)}</p>
			<p>
				Everything else still works. Try again, or reload the page; if it fails again, send
				us the details.
			</p>
			<div class="next-steps">
				<button type="button" class="button" onClick={props.onAgain}>
					Try again
				</button>
				<button type="button" class="button" onClick={() => location.reload()}>
					Load the page anew
				</button>
				<button type="button" class="button" onClick={copy}>
					Copy the details
				</button>
			</div>
			<textarea
				ref={text}
				readOnly
				rows={6}
				aria-label="Details of the fault"
				value={details}
			/>
		</div>
	);
}

/**
 * `what`: "This view"; `area`: the class of what it stands for, if that has a place of its own in
 * the frame. Give it a key that changes when something else is shown.
 */
export class Boundary extends Component<
	{ what: string; area?: string; children: ComponentChildren },
	{ error?: Error }
> {
	static getDerivedStateFromError(error: unknown) {
		return { error: error instanceof Error ? error : new Error(String(error)) };
	}

	render() {
		const { error } = this.state;
		if (error)
			return (
				<Failure
					what={this.props.what}
					area={this.props.area ?? ''}
					error={error}
					onAgain={() => this.setState({ error: undefined })}
				/>
			);
		return this.props.children;
	}
}
