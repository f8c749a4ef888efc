"""The load: clients with runs, followers, readers of pages, a receiver of webhooks."""
