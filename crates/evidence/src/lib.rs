//! The format of .audit: reads what an engine process wrote, through the mask, in recorded order.
